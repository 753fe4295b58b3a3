import { DEFAULTS } from '../../../lib/config'
import { Chapter, Rows } from '../_parts/chapter'
import { span } from '../_parts/spans'

export function Stored() {
  const every = span(DEFAULTS.reapIntervalMs / 1000)
  const erased = `Until the key expires; erased by the reaper’s next run, one every ${every} unless the service is set otherwise.`
  return (
    <Chapter id="stored" title="What is stored, and for how long">
      <Rows
        head={['What', 'How long', 'For what']}
        rows={[
          {
            name: 'Your request: path parameters and body, with payment method and note',
            cells: [erased, 'To say where another request differs, to find out what became of it, to run it later.'],
          },
          { name: 'The answer: status, body, Location, Content-Type', cells: [erased, 'To replay it.'] },
          {
            name: 'Key, endpoint, fingerprint, states with their times, request ids, the answer’s status, what was made',
            cells: ['Until the tombstone is deleted.', 'To tell a retry from a new request.'],
          },
          {
            name: 'Orders, refunds and the ledger: customer id, items, note, payment method, reason, amounts, references',
            cells: ['They stay. No call deletes them.', 'They are the books; a key’s end does not change them.'],
          },
          {
            name: 'What the provider said when the outcome was not clear: verdict, reference, amount',
            cells: ['It stays.', 'Evidence of why a key was settled as it was.'],
          },
          {
            name: 'A reused key: key, endpoint and the JSON paths that differ, never their values',
            cells: ['90 days.', 'To find the program that does it.'],
          },
          { name: 'Your API key', cells: ['Only its SHA-256 hash.', 'To know you.'] },
          {
            name: 'In the memory of a node: finished answers, with the request as it was sent',
            cells: [
              'Until the key expires, erased within a minute; earlier where there is no room for it, or the node ends.',
              'To replay without asking the database.',
            ],
          },
        ]}
      />
      <p>
        Erased means set to null in the database; its backups are its operators’ own. An operator can end a key before
        its time, which erases request and answer at once and on every node within a second: ask for it where somebody’s
        data has to go. In the console the payment method and what a customer wrote are masked, and unmasking is an act
        with a reason that is logged. Orders and refunds keep payment method, note and reason for good; an operator can
        erase those of one customer, which also ends the keys that hold them: a retry then gets 410. The service’s logs
        have request ids and, where something went wrong, what; API keys, payment methods and other secrets are masked
        in them. Put no personal data into keys and request ids.
      </p>
    </Chapter>
  )
}
