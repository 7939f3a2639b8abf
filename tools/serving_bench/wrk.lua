-- Posts the body of file $BODY with the headers of file $HEADERS (name: value), and reports in one line.
local function whole(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

wrk.method = "POST"
wrk.body = whole(os.getenv("BODY"))
for name, value in whole(os.getenv("HEADERS")):gmatch("([^\n:]+): ([^\n]+)") do
  wrk.headers[name] = value
end

done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("measured %d %d %.1f %.1f %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failed))
end
