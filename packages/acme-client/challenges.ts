import {
  AcmeError,
  type AcmeLog,
  type ChallengeResponse,
  type ChallengeSolver,
  type ChallengeType,
  type Order,
} from './acme.ts'
import type { AccountKey } from './jws.ts'
import {
  type AcmeProblem,
  errorKind,
  type Json,
  oneLine,
  parseObject,
  parseProblem,
  readString,
} from './response.ts'
import type { AcmeSession } from './session.ts'
import { type Deadline, type HttpResponse, unreachable } from './transport.ts'

/** An authorization: the challenges of one name (RFC 8555, 7.1.4). */
interface AcmeAuthorization {
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

interface AcmeChallenge {
  type: ChallengeType
  url: string
  token: string
  /** Also `pending` after a failed validation when the CA expects another trigger (RFC 8555, 8.2). */
  status: 'pending' | 'triggered' | 'over'
  /** Whether a validation failed. */
  failed: boolean
}

interface SolveOptions {
  order: Order
  solver: ChallengeSolver
  session: AcmeSession
  deadline: Deadline
  log: AcmeLog
}

interface PresentedChallenge {
  authorization: AcmeAuthorization
  challenge: AcmeChallenge
  response: ChallengeResponse
}

const CHALLENGE_TYPES: readonly ChallengeType[] = ['http-01', 'tls-alpn-01', 'dns-01']

const MAX_CHALLENGES = 20

/** Maximum number of times that one challenge is triggered. */
const MAX_TRIGGERS = 5

/** RFC 8555, 8.1: base64url of at least 128 bits; becomes part of URLs. */
const TOKEN = /^[\w-]{16,256}$/

/** Of requests for authorizations, in error messages. */
const FETCH_ACTION = 'return an authorization'

/**
 * Completes every pending authorization of an order (RFC 8555, 7.5): presents one challenge for each, triggers
 * validation, and waits for all. Removes all presented challenges at the end; after a timeout those of DNS-01 only, since
 * the CA may still validate the others.
 */
export async function solveChallenges(options: SolveOptions): Promise<void> {
  const { order, session, deadline, solver } = options
  const key = await session.accountKey(deadline)
  const presented: PresentedChallenge[] = []
  let mayStillValidate = false
  try {
    for (const url of order.authorizations) {
      const response = await session.request({ url, action: FETCH_ACTION }, deadline)
      const chosen = chooseChallenge(parseAuthorization(response, url), key, options)
      if (!chosen) continue
      presented.push(chosen)
      await deadline.excluding(() => solver.present(chosen.response))
    }
    for (const { challenge } of presented)
      if (challenge.status === 'pending') await triggerValidation(challenge, options)
    for (const one of presented) await waitUntilValid(one, options)
  } catch (error) {
    mayStillValidate = error instanceof AcmeError && error.kind === 'timeout'
    throw error
  } finally {
    // What is left expires, other than records of a DNS provider.
    const over = presented.filter(({ response }) => !mayStillValidate || response.type === 'dns-01')
    await deadline.excluding(() => Promise.all(over.map(({ response }) => cleanUp(response, options))))
  }
}

/** Chooses one of the offered challenges; the one in progress when it was triggered before. */
function chooseChallenge(
  authorization: AcmeAuthorization,
  key: AccountKey,
  { order, solver }: SolveOptions,
): PresentedChallenge | undefined {
  const { name, wildcard, challenges } = authorization
  const identifier = wildcard ? `*.${name}` : name
  if (!order.names.includes(identifier))
    throw unreachable('requires authorization of a name that was not requested')
  if (authorization.status === 'valid') return undefined
  if (isFinal(authorization)) throw validationFailed(authorization)
  const types = solver.types(identifier).filter((type) => !wildcard || type === 'dns-01')
  const challenge =
    challenges.find(({ status }) => status === 'triggered') ??
    types.map((type) => challenges.find((one) => one.type === type)).find((one) => one !== undefined)
  if (challenge === undefined || !types.includes(challenge.type))
    throw noSupportedChallenge(authorization, identifier)
  const { type, token } = challenge
  const response = { type, name, token, keyAuthorization: `${token}.${key.thumbprint}` }
  return { authorization, challenge, response }
}

/** RFC 8555, 7.5.1. */
async function triggerValidation({ url }: AcmeChallenge, { session, deadline }: SolveOptions): Promise<void> {
  await session.request({ url, payload: {}, action: 'validate a challenge' }, deadline)
}

/** After a failed validation some CAs wait until the challenge is triggered again. */
async function waitUntilValid(
  { authorization: { url }, challenge }: PresentedChallenge,
  options: SolveOptions,
): Promise<void> {
  let triggers = 1
  let problem: AcmeProblem | undefined
  const check = async (response: HttpResponse): Promise<true | undefined> => {
    const authorization = parseAuthorization(response, url)
    problem = authorization.problem
    if (authorization.status === 'valid') return true
    if (isFinal(authorization)) throw validationFailed(authorization)
    const current = authorization.challenges.find((one) => one.url === challenge.url)
    if (current?.status === 'pending' && current.failed) {
      if (triggers++ === MAX_TRIGGERS) throw validationFailed(authorization)
      await triggerValidation(challenge, options)
    }
    return undefined
  }
  try {
    await options.session.poll({ url, action: FETCH_ACTION }, options.deadline, check)
  } catch (error) {
    throw withProblem(error, problem)
  }
}

async function cleanUp(response: ChallengeResponse, { solver, log }: SolveOptions): Promise<void> {
  try {
    await solver.remove(response)
  } catch (error) {
    const { name, type } = response
    log.warn('removing an ACME challenge failed', { name, type, error })
  }
}

function parseAuthorization(response: HttpResponse, url: string): AcmeAuthorization {
  const object = parseObject(response)
  const name = readString((object.identifier ?? {}) as Json, 'value').toLowerCase()
  const status = readString(object, 'status')
  const list = Array.isArray(object.challenges) ? object.challenges.slice(0, MAX_CHALLENGES) : []
  const challenges = list.filter((one): one is Json => typeof one === 'object' && one !== null)
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
  if (!TOKEN.test(token)) throw unreachable('returned an invalid token')
  const { status, error } = object
  return {
    type: object.type as ChallengeType,
    url: readString(object, 'url'),
    token,
    status: status === 'pending' ? 'pending' : status === 'invalid' ? 'over' : 'triggered',
    failed: status === 'invalid' || error !== undefined,
  }
}

/** Some CAs leave the authorization unchanged when its challenge has failed. */
function isFinal({ status, challenges }: AcmeAuthorization): boolean {
  return status === 'over' || challenges.some((challenge) => challenge.status === 'over')
}

function withProblem(error: unknown, problem: AcmeProblem | undefined): unknown {
  if (!(error instanceof AcmeError && error.kind === 'timeout' && problem?.detail)) return error
  const { notBefore, message } = error
  return new AcmeError('timeout', `${message}. Its last result: ${problem.detail}`, { notBefore })
}

function validationFailed({ name, problem }: AcmeAuthorization): AcmeError {
  const kind = errorKind(400, problem?.type)
  const sentence = `The certificate authority could not validate ${name}: ${problem?.detail || 'no reason given'}`
  return new AcmeError(kind === 'rejected' ? 'challenge-failed' : kind, sentence, { type: problem?.type })
}

function noSupportedChallenge({ challenges }: AcmeAuthorization, name: string): AcmeError {
  const offered = challenges.map(({ type }) => type).join(', ')
  const what = offered ? `only ${offered}` : 'no challenge'
  const sentence = `The certificate authority offers ${what} for ${oneLine(name)} that this server can answer`
  return new AcmeError('rejected', sentence)
}
