// The check before the call. A process that slept must not wake up and charge: how long ago the lease was asked
// for is the larger of what the monotonic and the wall clock say, because either may stand still in a suspend.

export class LeaseClock {
  readonly #monotonicStart = performance.now()
  readonly #wallStart = Date.now()

  constructor(readonly leaseMs: number) {}

  leftMs(): number {
    const elapsed = Math.max(performance.now() - this.#monotonicStart, Date.now() - this.#wallStart)
    return this.leaseMs - elapsed
  }

  outlasts(callMs: number): boolean {
    return this.leftMs() > callMs
  }
}
