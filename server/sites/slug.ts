import { randomInt } from 'node:crypto'
import { MAX_NAME_LENGTH } from '../../protocol/site-name.ts'

const ADJECTIVES =
  words(`amber autumn azure birch bold brave bright brisk calm cedar clear clever cobalt copper coral
  crimson crisp daring dawn deep eager early ember fair fern fleet fresh gentle gilded golden grand green hazel
  honest indigo ivory jade keen kind lively lucid lunar maple mellow merry misty noble north opal patient pearl
  proud quick quiet rapid rosy russet sage silver steady sunny swift tidal vivid warm wild`)

const NOUNS =
  words(`anchor atlas bay beacon bluff brook buoy canal canyon cape cliff clipper cloud coast compass
  cove current cutter delta dock dune ferry field fjord fleet forest galley garden glade grove gulf harbor haven
  heron hill island jetty kayak keel lagoon lake lantern ledge marina mast meadow mesa mill oak orchard otter
  pier pine pond port prairie quay raft reef ridge river sail schooner shore skiff sloop spring strait summit
  tide trail valley vessel voyage wave wharf willow`)

const SUFFIX_ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz'

/** Slugs and preview names: a host label without two hyphens in a row, which separate a version from its slug. */
export const LABEL_PATTERN = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Random, such as `amber-harbor-k7x3m2`: readable, one of about five thousand billion. */
export function newSlug(): string {
  const tail = Array.from({ length: 6 }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('')
  return `${ADJECTIVES[randomInt(ADJECTIVES.length)]}-${NOUNS[randomInt(NOUNS.length)]}-${tail}`
}

export function isGeneratedSlug(text: string): boolean {
  const [adjective = '', noun = '', tail = '', ...more] = text.split('-')
  return more.length === 0 && tail.length === 6 && ADJECTIVES.includes(adjective) && NOUNS.includes(noun)
}

export function isSlug(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && LABEL_PATTERN.test(text)
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
