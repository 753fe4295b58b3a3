// How each decision looks, in every chart: a state's colour where it is one's, ink and grey where it is not.
import type { Decision } from './charts-data'

export const DECISION_LOOKS: Record<Decision, { word: string; swatch: string }> = {
  created: { word: 'Created', swatch: 'bg-(--ch-created)' },
  replay: { word: 'Replay', swatch: 'bg-(--ch-replay)' },
  inProgress: { word: 'In progress', swatch: 'bg-(--ch-progress)' },
  retry: {
    word: 'Retry',
    swatch:
      'bg-[repeating-linear-gradient(135deg,var(--ch-retry)_0_2px,transparent_2px_4px)] border border-(--ch-retry)',
  },
  misuse: { word: 'Misuse', swatch: 'bg-(--ch-misuse)' },
  unknown: { word: 'Unknown', swatch: 'bg-(--ch-unknown)' },
}
