import { MAX_USER_CODE_LENGTH } from './device.ts'
import { MAX_KEY_NAME_LENGTH } from './keys.ts'
import { PROGRAM_SCOPES } from './programs.ts'
import { bool, named, type Static, text, time } from './schema.ts'

const name = { minLength: 1, maxLength: MAX_KEY_NAME_LENGTH }
const program = text('The program that asks, as it calls itself', name)
const machine = text('The machine it runs on: the name of its key', name)
const userCode = text('The code that the program shows, XXXX-XXXX', { maxLength: MAX_USER_CODE_LENGTH })

export const deviceRequestQuestion = named('DeviceUserCode', { userCode })
/** What a code asks for. */
export const deviceRequest = named('DeviceRequest', {
  userCode,
  program,
  machine,
  network: text('The block of addresses from which the program asked; 127.0.0.0/8 for this machine'),
  ownNetwork: text('That of this request'),
  scope: text('What the key permits: read; publish, which includes reading; manage, which includes all', {
    enum: PROGRAM_SCOPES,
  }),
  createdAt: time('When the program asked'),
  expiresAt: time('When the code expires'),
  replacesKey: bool('Whether a key of this name exists, which the new one replaces'),
})
export type DeviceRequest = Static<typeof deviceRequest>

export const deviceDecisionRequest = named('DeviceDecisionRequest', {
  userCode,
  allow: bool('Whether the program gets a key for the account'),
})
export const deviceDecision = named('DeviceDecision', { allowed: bool('Whether it gets a key') })
export type DeviceDecisionResponse = Static<typeof deviceDecision>
