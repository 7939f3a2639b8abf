"""Command lines that ais_bench replaced: msame and benchmark."""
