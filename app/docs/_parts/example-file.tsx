import { type Example, exampleText } from '../_examples/text'
import styles from './wire.module.css'

/**
 * A file of the examples, whole and as it is: tests run what is shown. Unlike wire text it scrolls where there is no
 * room, because a program whose lines are broken anywhere can't be read; so it can be reached by the keyboard.
 */
export const ExampleFile = ({ name }: { name: Example }) => (
  <figure className={styles.figure}>
    <figcaption className={styles.label}>{name}</figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached */}
    <pre className={styles.file} tabIndex={0}>
      <code>{exampleText(name)}</code>
    </pre>
  </figure>
)
