import type { ChallengeType } from './acme.ts'
import { type Json, parseObject, readString } from './json.ts'
import { type AcmeProblem, parseProblem } from './problem.ts'
import { type HttpResponse, unreachable } from './transport.ts'

/** An authorization: the challenges of one name (RFC 8555, 7.1.4). */
export interface AcmeAuthorization {
  url: string
  status: 'pending' | 'valid' | 'over'
  /** Without `*.`. */
  name: string
  wildcard: boolean
  /** Challenges of the supported types. */
  challenges: readonly AcmeChallenge[]
  /** Why the CA rejected the challenge. */
  problem: AcmeProblem | undefined
}

export interface AcmeChallenge {
  type: ChallengeType
  url: string
  token: string
  /**
   * Also `waiting` after a failed validation when the CA expects the challenge to be triggered again (RFC
   * 8555, 8.2).
   */
  status: 'waiting' | 'answered' | 'over'
  /** Whether a validation failed. */
  failed: boolean
}

const CHALLENGE_TYPES: readonly ChallengeType[] = ['http-01', 'tls-alpn-01', 'dns-01']

const MAX_CHALLENGES = 20

/** RFC 8555, 8.1: base64url of at least 128 bits; becomes part of URLs. */
const TOKEN = /^[\w-]{16,256}$/

export function parseAuthorization(reply: HttpResponse, url: string): AcmeAuthorization {
  const object = parseObject(reply)
  const name = readString((object.identifier ?? {}) as Json, 'value').toLowerCase()
  const status = readString(object, 'status')
  const given = Array.isArray(object.challenges) ? object.challenges.slice(0, MAX_CHALLENGES) : []
  const challenges = given.filter((one): one is Json => typeof one === 'object' && one !== null)
  const failed = challenges.find((one) => one.status === 'invalid' || one.error !== undefined)
  return {
    url,
    status: status === 'pending' || status === 'valid' ? status : 'over',
    name: name.replace(/^\*\./, ''),
    wildcard: object.wildcard === true,
    challenges: challenges
      .filter(({ type }) => CHALLENGE_TYPES.includes(type as ChallengeType))
      .map(parseChallenge),
    problem: failed && parseProblem(failed.error),
  }
}

function parseChallenge(object: Json): AcmeChallenge {
  const token = readString(object, 'token')
  if (!TOKEN.test(token)) throw unreachable('gave a token that is none')
  return {
    type: object.type as ChallengeType,
    url: readString(object, 'url'),
    token,
    status: challengeStatus(object),
    failed: object.status === 'invalid' || object.error !== undefined,
  }
}

function challengeStatus({ status }: Json): AcmeChallenge['status'] {
  if (status === 'pending') return 'waiting'
  return status === 'invalid' ? 'over' : 'answered'
}
