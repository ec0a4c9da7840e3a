import type { Answered, Dns } from './dns.ts'
import { type Heard, Questions } from './question.ts'

interface ResolverOptions {
  /** Addresses as `Resolver.setServers` of node:dns takes them; none for those of the system. */
  servers: readonly string[]
  /** Milliseconds for each call, at most 10,000. */
  patience?: number
}

/** Below the ten seconds of the contract by what a busy process needs to notice. */
const PATIENCE = 9000

const MOST_HOPS = 8
const MOST_VALUES = 100

/** Asks resolvers that are trusted: a name's own servers may lie about it, those in between are believed. */
export function resolverDns({ servers, patience = PATIENCE }: ResolverOptions): Dns {
  const questions = new Questions({ servers, patience })
  return {
    aliases: (name) => aliases(questions, name),
    addresses: (name) => addresses(questions, name),
    texts: (name) => texts(questions, name),
  }
}

async function aliases(questions: Questions, name: string): Promise<Answered> {
  const deadline = questions.deadline()
  const hops: string[] = []
  const seen = new Set([canonical(name)])
  for (let at = name; ; at = hops.at(-1)!) {
    const { records, trouble } = await questions.ask<string>(at, 'CNAME', deadline)
    const [next] = records.map(canonical)
    if (trouble !== undefined) return { values: hops, trouble }
    if (next === undefined) return { values: hops }
    if (seen.has(next)) return { values: hops, trouble: 'its CNAME records lead in a circle' }
    if (hops.length === MOST_HOPS) {
      return { values: hops, trouble: `its CNAME records lead through more than ${MOST_HOPS} names` }
    }
    seen.add(next)
    hops.push(next)
  }
}

async function addresses(questions: Questions, name: string): Promise<Answered> {
  const deadline = questions.deadline()
  const heard = await Promise.all([
    questions.ask<string>(name, 'A', deadline),
    questions.ask<string>(name, 'AAAA', deadline),
  ])
  const values = [...new Set(heard.flatMap(({ records }) => records))].sort()
  return bounded(values, 'addresses', heard)
}

async function texts(questions: Questions, name: string): Promise<Answered> {
  const heard = await questions.ask<string[]>(name, 'TXT', questions.deadline())
  const values = heard.records.map((strings) => printable(strings.join('')))
  return bounded(values, 'TXT records', [heard])
}

function bounded(values: readonly string[], noun: string, heard: readonly Heard<unknown>[]): Answered {
  const tooMany = values.length > MOST_VALUES ? `it has more than ${MOST_VALUES} ${noun}` : undefined
  const trouble = heard.find((one) => one.trouble !== undefined)?.trouble ?? tooMany
  return { values: values.slice(0, MOST_VALUES), ...(trouble === undefined ? {} : { trouble }) }
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Bytes that no proof has and that neither a database nor a terminal wants. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, '\ufffd')
}
