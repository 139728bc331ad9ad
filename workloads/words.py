# SPDX-License-Identifier: GPL-2.0
"""An interpreter's work: make up words, count, sort, print and read them back."""
import collections
import json
import random
import re

rng = random.Random(1)
letters = "etaoinshrdlucmfw"
text = " ".join("".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(300_000))
count = collections.Counter(re.findall(r"[a-z]+", text))
order = sorted(count.items(), key=lambda item: (-item[1], item[0]))
back = json.loads(json.dumps(dict(order), indent=1))
assert back == dict(count)
print(len(back), "different words, the most frequent is", order[0][0])
