"""The probe: what must live inside the benchmark's own Python process.

Standard library only, so that it loads into any interpreter that has Triton. `docs/cell-protocol.md` says what it
reads (`order.json`) and writes (`events.jsonl`). Every hook is fail-soft: what cannot be set is told in a
`capability` event, and measuring goes on without it.
"""
