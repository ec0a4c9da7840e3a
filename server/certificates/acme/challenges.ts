import type { Log } from '../../lib/log.ts'
import { AcmeError, type ChallengeResponse, type ChallengeSolver, type Order } from './acme.ts'
import { type AcmeAuthorization, type AcmeChallenge, parseAuthorization } from './authorization.ts'
import type { Deadline } from './deadline.ts'
import type { AccountKey } from './jws.ts'
import { poll } from './polling.ts'
import { type AcmeProblem, errorKind, oneLine } from './problem.ts'
import type { AcmeSession } from './session.ts'
import { type HttpResponse, unreachable } from './transport.ts'

/** Maximum number of times that one challenge is triggered. */
const MAX_POLLS = 5

interface SolveOptions {
  order: Order
  solver: ChallengeSolver
  session: AcmeSession
  deadline: Deadline
  clock: () => number
  log: Log
}

interface PresentedChallenge {
  authorization: AcmeAuthorization
  challenge: AcmeChallenge
  response: ChallengeResponse
}

/**
 * Proves every unproven name of an order (RFC 8555, 7.5): presents one challenge for each, triggers
 * validation, and waits for all. Removes all presented challenges at the end.
 */
export async function solveChallenges(options: SolveOptions): Promise<void> {
  const { order, session, deadline, solver } = options
  const key = await session.key(deadline)
  const shown: PresentedChallenge[] = []
  try {
    for (const url of order.authorizations) {
      const chosen = chooseChallenge(await fetchAuthorization(url, options), key, options)
      if (!chosen) continue
      shown.push(chosen)
      await deadline.excluding(() => solver.present(chosen.response))
    }
    for (const { challenge } of shown)
      if (challenge.status === 'waiting') await triggerValidation(challenge, options)
    for (const one of shown) await waitUntilValid(one, options)
  } finally {
    await deadline.excluding(() => Promise.all(shown.map(({ response }) => cleanUp(response, options))))
  }
}

async function fetchAuthorization(url: string, options: SolveOptions): Promise<AcmeAuthorization> {
  return parseAuthorization(await fetchOnce(url, options), url)
}

function fetchOnce(url: string, { session, deadline }: SolveOptions): Promise<HttpResponse> {
  return session.request({ url, action: 'say what is to be proven' }, deadline)
}

/** Chooses one of the offered challenges; the one in progress when it was triggered before. */
function chooseChallenge(
  authorization: AcmeAuthorization,
  key: AccountKey,
  { order, solver }: SolveOptions,
): PresentedChallenge | undefined {
  const { name, wildcard, challenges } = authorization
  const whole = wildcard ? `*.${name}` : name
  if (!order.names.includes(whole))
    throw unreachable('wants to see something of a name that was not asked for')
  if (authorization.status === 'valid') return undefined
  if (isFinal(authorization)) throw validationFailed(authorization)
  const types = solver.types(whole).filter((type) => !wildcard || type === 'dns-01')
  const challenge =
    challenges.find(({ status }) => status === 'answered') ??
    types.map((type) => challenges.find((one) => one.type === type)).find((one) => one !== undefined)
  if (challenge === undefined || !types.includes(challenge.type))
    throw noSupportedChallenge(authorization, whole)
  const { type, token } = challenge
  const response = { type, name, token, keyAuthorization: `${token}.${key.thumbprint}` }
  return { authorization, challenge, response }
}

async function triggerValidation({ url }: AcmeChallenge, { session, deadline }: SolveOptions): Promise<void> {
  await session.request({ url, payload: {}, action: 'look at a proof' }, deadline)
}

/** After a failed validation some CAs wait until the challenge is triggered again. */
async function waitUntilValid(
  { authorization: { url }, challenge }: PresentedChallenge,
  options: SolveOptions,
): Promise<void> {
  let looks = 1
  let problem: AcmeProblem | undefined
  const seek = async () => {
    const reply = await fetchOnce(url, options)
    const authorization = parseAuthorization(reply, url)
    problem = authorization.problem
    if (authorization.status === 'valid') return { found: true, reply }
    if (isFinal(authorization)) throw validationFailed(authorization)
    const seen = authorization.challenges.find((one) => one.url === challenge.url)
    if (seen?.status === 'waiting' && seen.failed) {
      if (looks++ === MAX_POLLS) throw validationFailed(authorization)
      await triggerValidation(challenge, options)
    }
    return { found: undefined, reply }
  }
  await poll(seek, options).catch((error) => Promise.reject(withProblem(error, problem)))
}

/** Some CAs leave the authorization unchanged when its challenge has failed. */
function isFinal({ status, challenges }: AcmeAuthorization): boolean {
  return status === 'over' || challenges.some((challenge) => challenge.status === 'over')
}

function withProblem(error: unknown, problem: AcmeProblem | undefined): unknown {
  if (!(error instanceof AcmeError && error.kind === 'slow' && problem?.detail)) return error
  const { notBefore, message } = error
  return new AcmeError('slow', `${message}; so far it has found: ${problem.detail}`, { notBefore })
}

async function cleanUp(response: ChallengeResponse, { solver, log }: SolveOptions): Promise<void> {
  try {
    await solver.remove(response)
  } catch (error) {
    log.warn('removing an ACME challenge failed', {
      name: response.name,
      type: response.type,
      error,
    })
  }
}

function validationFailed({ name, problem }: AcmeAuthorization): AcmeError {
  const trouble = errorKind(400, problem?.type)
  const sentence = `The certificate authority did not find the proof for ${name}: ${problem?.detail || 'it does not say why'}`
  return new AcmeError(trouble === 'refused' ? 'failed' : trouble, sentence, { type: problem?.type })
}

function noSupportedChallenge({ challenges }: AcmeAuthorization, name: string): AcmeError {
  const offered = challenges.map(({ type }) => type).join(', ') || 'nothing that is known here'
  const sentence = `The certificate authority takes ${offered} for ${oneLine(name)}, which cannot be shown`
  return new AcmeError('refused', sentence)
}
