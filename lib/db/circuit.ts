// A circuit breaker: after enough failures in a row nobody waits for a store that is gone. One probe at a time finds
// out whether it is back. The probe is nobody's own statement, so a store that takes it and says nothing holds no
// request for longer than a moment.

/** Opens after this many failures in a row; one probe after the pause. */
const FAILURES_TO_OPEN = 5
const PROBE_AFTER_MS = 2000
/** Longer than an answer takes, shorter than a client notices. */
const PROBE_PATIENCE_MS = 250

export class Circuit {
  #failuresInARow = 0
  #probeAtMs = 0
  #probing: Promise<boolean> | null = null

  /** @param probe fails where the store is still gone */
  constructor(readonly probe: () => Promise<unknown>) {}

  /** False while the store is known to be gone. */
  async lets(): Promise<boolean> {
    if (this.#failuresInARow < FAILURES_TO_OPEN) return true
    if (!this.#probing && performance.now() < this.#probeAtMs) return false
    this.#probing ??= this.#probe()
    return Promise.race([this.#probing, afterPatience()])
  }

  succeeded(): void {
    this.#failuresInARow = 0
  }

  failed(): void {
    this.#failuresInARow++
    this.#probeAtMs = performance.now() + PROBE_AFTER_MS
  }

  async #probe(): Promise<boolean> {
    try {
      await this.probe()
      this.succeeded()
      return true
    } catch {
      this.failed()
      return false
    } finally {
      this.#probing = null
    }
  }
}

const afterPatience = () =>
  new Promise<false>((resolve) => {
    setTimeout(resolve, PROBE_PATIENCE_MS, false).unref()
  })
