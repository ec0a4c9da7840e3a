import type { ChallengeType } from './acme.ts'
import { type Json, objectOf, textOf } from './json.ts'
import { type Problem, readProblem } from './problem.ts'
import { away, type Reply } from './transport.ts'

/** What a CA wants to see of a name (RFC 8555, 7.1.4). */
export interface Authorization {
  url: string
  status: 'pending' | 'valid' | 'over'
  /** Without `*.`. */
  name: string
  wildcard: boolean
  /** Of the types that this service knows. */
  challenges: readonly Challenge[]
  /** What the CA did not like of the challenge that it looked at. */
  problem: Problem | undefined
}

export interface Challenge {
  type: ChallengeType
  url: string
  token: string
  /** `waiting` after a look in vain too, when the CA wants to be asked to look again (RFC 8555, 8.2). */
  status: 'waiting' | 'answered' | 'over'
  /** Whether the CA has looked in vain. */
  failed: boolean
}

const TYPES: readonly ChallengeType[] = ['http-01', 'tls-alpn-01', 'dns-01']

const MOST_CHALLENGES = 20

/** RFC 8555, 8.1: base64url of at least 128 bits; it becomes a part of addresses. */
const TOKEN = /^[\w-]{16,256}$/

export function readAuthorization(reply: Reply, url: string): Authorization {
  const object = objectOf(reply)
  const name = textOf((object.identifier ?? {}) as Json, 'value').toLowerCase()
  const status = textOf(object, 'status')
  const given = Array.isArray(object.challenges) ? object.challenges.slice(0, MOST_CHALLENGES) : []
  const challenges = given.filter((one): one is Json => typeof one === 'object' && one !== null)
  const failed = challenges.find((one) => one.status === 'invalid' || one.error !== undefined)
  return {
    url,
    status: status === 'pending' || status === 'valid' ? status : 'over',
    name: name.replace(/^\*\./, ''),
    wildcard: object.wildcard === true,
    challenges: challenges.filter(({ type }) => TYPES.includes(type as ChallengeType)).map(readChallenge),
    problem: failed && readProblem(failed.error),
  }
}

function readChallenge(object: Json): Challenge {
  const token = textOf(object, 'token')
  if (!TOKEN.test(token)) throw away('gave a token that is none')
  return {
    type: object.type as ChallengeType,
    url: textOf(object, 'url'),
    token,
    status: statusOf(object),
    failed: object.status === 'invalid' || object.error !== undefined,
  }
}

function statusOf({ status }: Json): Challenge['status'] {
  if (status === 'pending') return 'waiting'
  return status === 'invalid' ? 'over' : 'answered'
}
