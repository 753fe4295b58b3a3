// Preloaded into a node (NODE_OPTIONS=--import): its wall clock is off by CLOCK_SHIFT_MS, its monotonic clock is right.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS)
const RightDate = Date

class WrongDate extends RightDate {
  constructor(...given) {
    if (given.length === 0) super(RightDate.now() + shiftMs)
    else super(...given)
  }
  static now() {
    return RightDate.now() + shiftMs
  }
}
// Some copy a Date's own properties and nothing that it inherits.
WrongDate.UTC = RightDate.UTC
WrongDate.parse = RightDate.parse
globalThis.Date = WrongDate
