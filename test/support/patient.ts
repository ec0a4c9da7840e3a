import { DEADLINES, type Deadlines } from '../../server/lib/deadlines.ts'
import { MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'

const PATIENT_MS = 60 * MINUTE_MS

/** For services in tests that are not about deadlines, so that the load of their machine decides nothing. */
export const PATIENT: Readonly<Deadlines> = Object.freeze({
  ...makePatient(DEADLINES),
  // A lost packet is sent again after a third of it.
  dns: 90 * SECOND_MS,
  // Tests begin many publishes whose files they do not send.
  expectedUploads: 0,
  // A service that ends waits for no client that a test has forgotten.
  connection: { ...makePatient(DEADLINES.connection), lastRequest: 0 },
})

function makePatient<Waits extends object>(deadlines: Waits): Waits {
  const entries = Object.entries(deadlines).map(([name, wait]) => [
    name,
    typeof wait === 'object' ? makePatient(wait) : PATIENT_MS,
  ])
  return Object.fromEntries(entries)
}
