import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import { requires } from './part.ts'
import { startSmtp } from './smtp.ts'

test('the test mail server returns the messages it received, in order', requires('smtp'), async () => {
  await using smtp = await startSmtp()
  const transport = createTransport({ url: smtp.url })
  const arriving = smtp.letters()
  const text =
    'Grüße,\n\nyour code is\n\n    ABCD-2345\n\nIt is a long line that has to be broken somewhere = here, '
  await transport.sendMail({
    from: 'Slipway <a@example.test>',
    to: 'b@example.test',
    subject: 'Schön: ABCD',
    text,
  })
  const [letter] = await arriving
  assert.deepEqual(
    { from: letter?.from, to: letter?.to, subject: letter?.subject, text: letter?.text.trimEnd() },
    { from: 'Slipway <a@example.test>', to: 'b@example.test', subject: 'Schön: ABCD', text: text.trimEnd() },
  )
  for (const subject of ['one', 'two']) {
    await transport.sendMail({ from: 'a@example.test', to: 'b@example.test', subject, text: subject })
  }
  assert.deepEqual(
    (await smtp.letters()).map(({ subject }) => subject),
    ['one', 'two'],
  )
})
