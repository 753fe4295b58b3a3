import { type Example, exampleText } from '../_examples/text'
import { Wire } from './wire'

/** A file of the examples, whole and as it is: tests run what is shown. */
export const ExampleFile = ({ name }: { name: Example }) => <Wire label={name}>{exampleText(name)}</Wire>
