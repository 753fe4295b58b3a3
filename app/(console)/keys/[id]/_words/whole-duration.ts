import { duration } from '../../../../_ui/words'

/** 32 min and not 32 min 00 s, where nothing is left over. */
export const wholeDuration = (seconds: number): string => duration(seconds).replace(/ 00? (s|min|h)$/, '')
