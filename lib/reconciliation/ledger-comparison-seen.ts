// A set of words for 16 to 32 bytes each, however long they are: a window may hold a million entries. It knows a word by
// 64 bits of its hash; that any two of a million share them is one in thirty million.
import { createHash } from 'node:crypto'

const FIRST_SLOTS = 1024

export class SeenSet {
  /** Open addressing over pairs of words; two zeros are an empty slot. */
  #slots = new Uint32Array(2 * FIRST_SLOTS)
  #size = 0

  /** False when it was there already. */
  add(word: string): boolean {
    const [high, low] = hashOf(word)
    const at = find(this.#slots, high, low)
    if (this.#slots[at] || this.#slots[at + 1]) return false
    this.#slots[at] = high
    this.#slots[at + 1] = low
    this.#size += 1
    if (this.#size * 4 > this.#slots.length) this.#grow()
    return true
  }

  has(word: string): boolean {
    const at = find(this.#slots, ...hashOf(word))
    return Boolean(this.#slots[at] || this.#slots[at + 1])
  }

  #grow(): void {
    const bigger = new Uint32Array(this.#slots.length * 2)
    for (let i = 0; i < this.#slots.length; i += 2) {
      const [high, low] = [this.#slots[i]!, this.#slots[i + 1]!]
      if (high || low) bigger.set([high, low], find(bigger, high, low))
    }
    this.#slots = bigger
  }
}

function hashOf(word: string): [high: number, low: number] {
  const digest = createHash('sha256').update(word).digest()
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)]
}

/** Where it is, or where it belongs. */
function find(slots: Uint32Array, high: number, low: number): number {
  const mask = slots.length / 2 - 1
  for (let slot = low & mask; ; slot = (slot + 1) & mask) {
    const [h, l] = [slots[2 * slot], slots[2 * slot + 1]]
    if ((h === high && l === low) || (!h && !l)) return 2 * slot
  }
}
