// The little Markdown that the document's descriptions use: paragraphs, and code between backticks.

export function Prose({ children }: { children: string }) {
  return children.split('\n\n').map((paragraph) => (
    <p key={paragraph}>
      <Inline>{paragraph}</Inline>
    </p>
  ))
}

export function Inline({ children }: { children: string }) {
  const parts = children.split('`')
  return parts.map((part, i) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a sentence's parts never move
    i % 2 === 1 ? <code key={i}>{part}</code> : part,
  )
}
