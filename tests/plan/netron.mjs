// Opens a bundle with Netron's own reader of .om files, and prints the nodes that it would draw.
// node netron.mjs FOLDER_OF_NETRON FILE.om
import { readFileSync } from 'fs';
import { pathToFileURL } from 'url';

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const base = await load('base.js');
const om = await load('om.js');
const types = new Map(JSON.parse(readFileSync(`${folder}/om-metadata.json`)).map((type) => [type.name, type]));
const context = {
    stream: new base.BinaryStream(new Uint8Array(readFileSync(file))),
    set(type, value) { this.value = value; return type; },
    require: (name) => load(`${name.slice(2)}.js`),
    metadata: () => ({ type: (name) => types.get(name) || { name } })
};
const factory = new om.ModelFactory();
if (!await factory.match(context)) {
    throw new Error('Netron does not take this for an .om file');
}
const model = await factory.open(context);
const value = (argument) => argument.value.map((v) => [v.name, v.type ? v.type.toString() : null]);
const nodes = model.modules[0].nodes.map((node) => ({
    name: node.name,
    type: node.type.name,
    inputs: node.inputs.flatMap(value),
    outputs: node.outputs.flatMap(value),
    attributes: node.attributes.map((a) => a.name)
}));
console.log(JSON.stringify({ format: model.format, nodes }));
