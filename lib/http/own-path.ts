// Where a sign-in leads back to: a page of ours and nowhere else. What comes in a link is anybody's.

/** Two slashes, or a slash and a backslash, would begin another site's address; control characters are left out by browsers. */
export const ownPath = (wanted: unknown): string =>
  typeof wanted === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) ? wanted : '/'
