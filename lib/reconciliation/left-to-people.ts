// Dead letters that only a person ends: the provider has something else than was asked for, and another look-up would
// find what is known already.
export const LEFT_TO_PEOPLE: readonly string[] = ['amount_differs', 'restored_differs']

export const isLeftToPeople = (lastErrorCode: string | null): boolean =>
  lastErrorCode !== null && LEFT_TO_PEOPLE.includes(lastErrorCode)
