// What a reader chose about the look of things: cookies, so that the server already sends it that way.
export const THEME_COOKIE = 'onceover.theme'
export type Theme = 'system' | 'light' | 'dark'

/** The name of a time zone. */
export const ZONE_COOKIE = 'onceover.zone'
