import { bool, integer, named, object, text, time } from './schema.ts'

const name = { minLength: 1, maxLength: 64 }
const program = text('The program that asks, as it calls itself', name)
const machine = text('The machine it runs on: the name of its key', name)
const userCode = text('The code that the program shows, XXXX-XXXX', { maxLength: 40 })
const deviceCode = text('The code of the program; secret', { maxLength: 100 })

export const deviceCodeRequest = named('DeviceCodeRequest', object({ program, machine }))
export const deviceCodeResponse = named(
  'DeviceCode',
  object({
    deviceCode,
    userCode,
    verificationUrl: text('The page that asks the user for the code'),
    verificationUrlComplete: text('The same page with the code'),
    expiresInSeconds: integer('600'),
    intervalSeconds: integer('Minimum time between requests for the key'),
  }),
)
export const deviceTokenRequest = named('DeviceTokenRequest', object({ deviceCode }))
export const deviceTokenResponse = named(
  'DeviceKey',
  object({
    apiKey: text('Shown once'),
    email: text('Email address'),
    plan: text('The plan of the account'),
    keyName: text('The name of the key'),
    warning: text('A reminder that the key is shown once'),
  }),
)
export const deviceRequestQuestion = named('DeviceUserCode', object({ userCode }))
export const deviceRequest = named(
  'DeviceRequest',
  object({
    userCode,
    program,
    machine,
    createdAt: time('When the program asked'),
    expiresAt: time('When the code expires'),
    replacesKey: bool('Whether a key of this name exists, which the new one replaces'),
  }),
)
export const deviceDecisionRequest = named(
  'DeviceDecisionRequest',
  object({ userCode, allow: bool('Whether the program gets a key for the account') }),
)
export const deviceDecision = named('DeviceDecision', object({ allowed: bool('Whether it gets a key') }))
