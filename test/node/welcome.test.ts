import { expect, it } from 'vitest'
import { welcome } from '../../lib/node/welcome'

const NOTHING = { apiKey: null, admin: null }

it('the welcome message shows a secret that this start created', () => {
  const made = { apiKey: 'oo_demo_made', admin: { email: 'admin@example.com', password: 'made up' } }
  const text = welcome('http://localhost:3000', made, { demoApiKey: undefined })
  expect(text).toContain('Bearer oo_demo_made')
  expect(text).toContain('admin@example.com / made up')
})

it('the welcome message never shows a secret that the environment gave', () => {
  const text = welcome('http://localhost:3000', NOTHING, { demoApiKey: 'oo_demo_given' })
  expect(text).not.toContain('oo_demo_given')
  expect(text).toContain('Bearer $ONCEOVER_API_KEY')
})
