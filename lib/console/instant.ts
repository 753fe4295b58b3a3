// An instant as everybody is shown it, whether it was read as a column or inside of JSON.
export const instant = (at: Date | string): string => new Date(at).toISOString()
