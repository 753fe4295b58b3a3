// What a program does with a generated client, whichever generator made it.

export interface Task {
  url: string
  apiKey: string
  /** Of the order that is placed, and of the one that a worker places. */
  keys: { placed: string; accepted: string }
}

/** What the program saw, through the types of its client. */
export interface Transcript {
  placed: { status: number; id: string; replayed: boolean }
  replay: { status: number; id: string; replayed: boolean }
  read: { id: string; status: string; amountCents: number }
  problem: { status: number; code: string; sameKey: boolean }
  accepted: { status: number; state: string }
}

export const ORDER = {
  customerId: 'cus_generated',
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
}
