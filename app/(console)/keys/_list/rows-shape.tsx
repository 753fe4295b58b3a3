/** As tall as the rows that will be there. */
export const RowsShape = () => (
  <div aria-hidden className="flex-1">
    <div className="h-8 border-b border-line-strong" />
    {Array.from({ length: 20 }, (_, row) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
      <div key={row} className="h-[34px] border-b border-line" />
    ))}
  </div>
)
