import os

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

URL = os.environ["ONCEOVER_URL"]
onceover = requests.Session()
onceover.headers["Authorization"] = "Bearer " + os.environ["ONCEOVER_API_KEY"]
onceover.headers["Prefer"] = "wait=20, busy=503"
retry = Retry(total=10, allowed_methods=["POST"], backoff_factor=0.5,
              status_forcelist=[429, 500, 502, 503, 504])
onceover.mount(URL, HTTPAdapter(max_retries=retry))


# The key was stored before the first call. The time-out is of each try.
def place_order(key, order):
    answer = onceover.post(URL + "/api/orders", json=order, timeout=30,
                           headers={"Idempotency-Key": key})
    answer.raise_for_status()
    return answer.json()
