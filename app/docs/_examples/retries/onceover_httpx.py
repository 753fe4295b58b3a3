import os
import time

import httpx

HEADERS = {"Authorization": "Bearer " + os.environ["ONCEOVER_API_KEY"],
           "Prefer": "wait=20, busy=503"}
onceover = httpx.Client(base_url=os.environ["ONCEOVER_URL"], headers=HEADERS, timeout=30)


# The key was stored before the first call. The client's time-out is of each try.
def place_order(key, order):
    give_up_at = time.monotonic() + 300
    for tries in range(20):
        pause = min(2**tries, 30)
        try:
            answer = onceover.post("/api/orders", json=order, headers={"Idempotency-Key": key})
            if answer.status_code not in (429, 500, 502, 503, 504):
                answer.raise_for_status()
                return answer.json()
            pause = int(answer.headers.get("Retry-After", pause))
        except httpx.TransportError:
            pass  # refused, cut or timed out: the same request finds out what happened
        if time.monotonic() + pause > give_up_at:
            break
        time.sleep(pause)
    raise TimeoutError("not known yet: keep the key")
