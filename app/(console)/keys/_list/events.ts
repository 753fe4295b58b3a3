/** Whoever wants to search says so on the document: the box lives once a page. */
export const FOCUS_SEARCH = 'onceover:focus-search'

/** The same for the list of shortcuts. */
export const OPEN_HELP = 'onceover:open-help'
