import { describe, expect, it } from 'vitest'
import { operations } from '../../app/docs/_reference/document'
import { answerText, requestText } from '../../app/docs/_reference/exchange'

describe('the examples of the API reference', () => {
  it.each(operations)('name every parameter and member of $method $path', (operation) => {
    const answers = operation.answers.map(({ status, answer }) => answerText(status, answer))
    expect([requestText(operation), ...answers].join('\n')).not.toMatch(/undefined|\{[a-z]/i)
  })
})
