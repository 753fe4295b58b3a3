// Words with times among them.
import { Fragment } from 'react'
import { Instant } from '../../../_ui/time'
import type { Part } from './_words/moment'

export const Sentence = ({ parts }: { parts: readonly Part[] }) =>
  parts.map((part, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a sentence is known by its order
    <Fragment key={i}>{typeof part === 'string' ? part : <Instant at={part.at} />}</Fragment>
  ))
