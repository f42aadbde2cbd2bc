"""The transfers that the tests look at: data, see lab.py for the fields."""

GB = 10**9

LINKS = {
    "1g-200ms": {"rate_mbit": 1000, "rtt_us": 200000},
    "10g-100ms": {"rate_mbit": 10000, "rtt_us": 100000},
    "100m-300ms": {"rate_mbit": 100, "rtt_us": 300000},
    "1g-1ms": {"rate_mbit": 1000, "rtt_us": 1000},
    "lan": {"rate_mbit": 10000, "rtt_us": 200},
}
OURS = {"tool": "ssh", "client": "openssh", "server": "openssh"}
STOCK = {"tool": "ssh", "client": "pristine", "server": "pristine"}
FIXED = {"tool": "ssh", "client": "fixed", "server": "fixed"}
RAW = {"tool": "raw"}

# Enough for a stretch after the first 3 s. At 10 Gbit/s the cipher is one
# that needs no new keys on the way: chacha20-poly1305 renews them every GB,
# which stops the data for 3 RTT whatever the window.
AMOUNTS = {
    "1g-200ms": {"bytes": GB},
    "10g-100ms": {"bytes": 7 * GB // 2, "cipher": "aes128-gcm@openssh.com"},
    "100m-300ms": {"bytes": GB},
}

ROWS = {}
for link, amount in AMOUNTS.items():
    for direction in ("get", "put"):
        ROWS[f"{link}-{direction}-raw"] = dict(
            RAW, direction=direction, **LINKS[link], **amount)
        ROWS[f"{link}-{direction}-ours"] = dict(
            OURS, direction=direction, **LINKS[link], **amount)

ROWS["stock-sender"] = dict(OURS, server="pristine", direction="get",
                            bytes=GB, unspent=True, **LINKS["1g-200ms"])
ROWS["stopped-reader"] = dict(OURS, direction="get", bytes=GB,
                              stop_after=10**8, **LINKS["1g-200ms"])
ROWS["lan"] = dict(OURS, direction="get", bytes=GB, **LINKS["lan"])
for i in (1, 2):
    ROWS[f"again-{i}"] = dict(OURS, direction="get", bytes=GB // 10,
                              **LINKS["1g-200ms"])

# CPU: the same bursts on both links, as they decide how often one wakes
for name, trees, link, count in (
        ("ours-near", OURS, "1g-1ms", GB),
        ("ours-far", OURS, "1g-200ms", GB),
        ("stock-near", STOCK, "1g-1ms", GB // 4),
        ("fixed-far", FIXED, "1g-200ms", GB // 4)):
    ROWS[f"cpu-{name}"] = dict(trees, direction="get", bare=True, bytes=count,
                               slot_us=200, **LINKS[link])
