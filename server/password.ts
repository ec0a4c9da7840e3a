import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { sameSecret } from './key.ts'

/** The cookie that opens a site with a password; no site may set it itself. */
export const PASSWORD_COOKIE = 'slipway_password'

/** Argon2id (RFC 9106) with 19 MiB, two passes and one lane. */
const COST = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 }

const derive = promisify(argon2)

/** What is stored of a site's password: parameters, salt and tag, readable by `isPassword` for good. */
export async function hashOfPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await tagOf(password, salt, COST)
  const { memory, passes, parallelism } = COST
  return [
    'argon2id',
    memory,
    passes,
    parallelism,
    salt.toString('base64url'),
    tag.toString('base64url'),
  ].join('$')
}

/** Whether this is the password behind the hash. Takes some tens of milliseconds off the main thread. */
export async function isPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = stored.split('$')
  const expected = Buffer.from(tag!, 'base64url')
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  }
  const actual = await tagOf(password, Buffer.from(salt!, 'base64url'), cost)
  return sameSecret(actual.toString('hex'), expected.toString('hex'))
}

function tagOf(password: string, nonce: Buffer, cost: typeof COST): Promise<Buffer> {
  return derive('argon2id', { message: Buffer.from(password.normalize('NFC')), nonce, ...cost })
}
