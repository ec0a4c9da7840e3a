import type { Log } from '../../log.ts'
import { AcmeFailure, type Order, type Proof, type Proofs } from './acme.ts'
import { type Authorization, type Challenge, readAuthorization } from './authorization.ts'
import type { Conversation } from './conversation.ts'
import type { AccountKey } from './jws.ts'
import type { Patience } from './patience.ts'
import { poll } from './polling.ts'
import { oneLine, type Problem, troubleOf } from './problem.ts'
import { away, type Reply } from './transport.ts'

/** How often a CA that waits to be asked again is asked to look at one proof. */
const MOST_LOOKS = 5

interface ProvingOptions {
  order: Order
  proofs: Proofs
  conversation: Conversation
  patience: Patience
  clock: () => number
  log: Log
}

interface Shown {
  authorization: Authorization
  challenge: Challenge
  proof: Proof
}

/**
 * Proves every name of an order that is not proven yet (RFC 8555, 7.5): shows one proof for each, asks the CA to look, and
 * waits until it has found all. Everything that was shown is taken away at the end.
 */
export async function proveNames(options: ProvingOptions): Promise<void> {
  const { order, conversation, patience, proofs } = options
  const key = await conversation.key(patience)
  const shown: Shown[] = []
  try {
    for (const url of order.authorizations) {
      const chosen = choose(await ask(url, options), key, options)
      if (!chosen) continue
      shown.push(chosen)
      await patience.beside(() => proofs.present(chosen.proof))
    }
    for (const { challenge } of shown) if (challenge.status === 'waiting') await answer(challenge, options)
    for (const one of shown) await untilFound(one, options)
  } finally {
    await patience.beside(() => Promise.all(shown.map(({ proof }) => remove(proof, options))))
  }
}

async function ask(url: string, options: ProvingOptions): Promise<Authorization> {
  return readAuthorization(await look(url, options), url)
}

function look(url: string, { conversation, patience }: ProvingOptions): Promise<Reply> {
  return conversation.tell({ url, to: 'say what is to be proven' }, patience)
}

/** One challenge of those that the CA offers; that which it is looking at, when it was asked before. */
function choose(
  authorization: Authorization,
  key: AccountKey,
  { order, proofs }: ProvingOptions,
): Shown | undefined {
  const { name, wildcard, challenges } = authorization
  const whole = wildcard ? `*.${name}` : name
  if (!order.names.includes(whole)) throw away('wants to see something of a name that was not asked for')
  if (authorization.status === 'valid') return undefined
  if (isOver(authorization)) throw notFound(authorization)
  const types = proofs.types(whole).filter((type) => !wildcard || type === 'dns-01')
  const challenge =
    challenges.find(({ status }) => status === 'answered') ??
    types.map((type) => challenges.find((one) => one.type === type)).find((one) => one !== undefined)
  if (challenge === undefined || !types.includes(challenge.type)) throw notOffered(authorization, whole)
  const { type, token } = challenge
  const proof = { type, name, token, keyAuthorization: `${token}.${key.thumbprint}` }
  return { authorization, challenge, proof }
}

async function answer({ url }: Challenge, { conversation, patience }: ProvingOptions): Promise<void> {
  await conversation.tell({ url, payload: {}, to: 'look at a proof' }, patience)
}

/** A CA that has looked in vain may not look again before it is asked to. */
async function untilFound(
  { authorization: { url }, challenge }: Shown,
  options: ProvingOptions,
): Promise<void> {
  let looks = 1
  let problem: Problem | undefined
  const seek = async () => {
    const reply = await look(url, options)
    const authorization = readAuthorization(reply, url)
    problem = authorization.problem
    if (authorization.status === 'valid') return { found: true, reply }
    if (isOver(authorization)) throw notFound(authorization)
    const seen = authorization.challenges.find((one) => one.url === challenge.url)
    if (seen?.status === 'waiting' && seen.failed) {
      if (looks++ === MOST_LOOKS) throw notFound(authorization)
      await answer(challenge, options)
    }
    return { found: undefined, reply }
  }
  await poll(seek, options).catch((error) => Promise.reject(withProblem(error, problem)))
}

/** Some CAs leave an authorization as it was when they have given up its challenge. */
function isOver({ status, challenges }: Authorization): boolean {
  return status === 'over' || challenges.some((challenge) => challenge.status === 'over')
}

function withProblem(error: unknown, problem: Problem | undefined): unknown {
  if (!(error instanceof AcmeFailure && error.trouble === 'slow' && problem?.detail)) return error
  const { notBefore, message } = error
  return new AcmeFailure('slow', `${message}; so far it has found: ${problem.detail}`, { notBefore })
}

async function remove(proof: Proof, { proofs, log }: ProvingOptions): Promise<void> {
  try {
    await proofs.remove(proof)
  } catch (error) {
    log.warn('a proof for the certificate authority was not taken away', {
      name: proof.name,
      type: proof.type,
      error,
    })
  }
}

function notFound({ name, problem }: Authorization): AcmeFailure {
  const trouble = troubleOf(400, problem?.type)
  const sentence = `The certificate authority did not find the proof for ${name}: ${problem?.detail || 'it does not say why'}`
  return new AcmeFailure(trouble === 'refused' ? 'failed' : trouble, sentence, { type: problem?.type })
}

function notOffered({ challenges }: Authorization, name: string): AcmeFailure {
  const offered = challenges.map(({ type }) => type).join(', ') || 'nothing that is known here'
  const sentence = `The certificate authority takes ${offered} for ${oneLine(name)}, which cannot be shown`
  return new AcmeFailure('refused', sentence)
}
