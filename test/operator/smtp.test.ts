import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeLog } from '../../server/lib/log.ts'
import { smtpMail } from '../../server/mail/smtp.ts'

test('an email that no server accepts is tried again after a pause, and the log has neither its address nor a stack', async () => {
  const lines: string[] = []
  const log = makeLog({ level: 'info', text: false, write: (line) => void lines.push(line) })
  const pauses: number[] = []
  const mail = smtpMail({
    // Port 1 of the loopback address refuses connections.
    url: 'smtp://127.0.0.1:1',
    from: 'slipway@slip.test',
    log,
    pause: async (milliseconds) => pauses.push(milliseconds),
  })
  const email = { kind: 'sign-in-code', to: 'owner@slip.test', subject: 'Code', text: 'Code', html: 'Code' }
  await assert.rejects(mail.send(email), { code: 'UNAVAILABLE' })
  assert.deepEqual(pauses, [500])
  const entries = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    entries.map(({ to, attempt }) => [to, attempt]),
    [
      ['o…@slip.test', 1],
      ['o…@slip.test', 2],
    ],
  )
  for (const { cause } of entries) assert.match(cause, /ECONNREFUSED/)
  assert.doesNotMatch(lines.join(), /owner@|\\n +at /)
})
