/** Whoever wants the palette open says so on the document: it lives once a page, and its buttons anywhere. */
export const OPEN_PALETTE = 'onceover:open-palette'
