// The state machine as a drawing, from the code's own table.
import { FLOW_NAMES, FLOWS } from '../../lib/idempotency/flows'

const END = '[*]'
const BEGIN_MARK = '<!-- drawn from lib/idempotency/flows.ts -->'
const END_MARK = '<!-- end of the drawing -->'
const DRAWING = new RegExp(`${escaped(BEGIN_MARK)}\n(.*?)${escaped(END_MARK)}`, 's')

export function drawStates(): string {
  const arrows = FLOW_NAMES.map((flow) => {
    const { from, to, word } = FLOWS[flow]
    return `    ${from ?? END} --> ${to ?? END}: ${word}\n`
  })
  return `\`\`\`mermaid\nstateDiagram-v2\n    direction LR\n${arrows.join('')}\`\`\`\n`
}

export const drawingIn = (page: string): string | undefined => DRAWING.exec(page)?.[1]

export const withDrawing = (page: string): string =>
  page.replace(DRAWING, () => `${BEGIN_MARK}\n${drawStates()}${END_MARK}`)

/** The arrows of every drawing of states in a page, whatever is written on them. */
export function arrowsIn(page: string): string[] {
  const drawings = [...page.matchAll(/```mermaid\nstateDiagram-v2\n(.*?)```/gs)].map(([, body]) => body!)
  return drawings.flatMap((body) =>
    [...body.matchAll(/^ *(\S+) --> ([^\s:]+)/gm)].map(([, from, to]) => `${from} → ${to}`),
  )
}

export const FLOW_ARROWS: readonly string[] = FLOW_NAMES.map(
  (flow) => `${FLOWS[flow].from ?? END} → ${FLOWS[flow].to ?? END}`,
)

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
