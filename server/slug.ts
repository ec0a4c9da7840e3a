import { randomInt } from 'node:crypto'

const FIRST =
  words(`amber autumn azure birch bold brave bright brisk calm cedar clear clever cobalt copper coral
  crimson crisp daring dawn deep eager early ember fair fern fleet fresh gentle gilded golden grand green hazel
  honest indigo ivory jade keen kind lively lucid lunar maple mellow merry misty noble north opal patient pearl
  proud quick quiet rapid rosy russet sage silver steady sunny swift tidal vivid warm wild`)

const SECOND =
  words(`anchor atlas bay beacon bluff brook buoy canal canyon cape cliff clipper cloud coast compass
  cove current cutter delta dock dune ferry field fjord fleet forest galley garden glade grove gulf harbor haven
  heron hill island jetty kayak keel lagoon lake lantern ledge marina mast meadow mesa mill oak orchard otter
  pier pine pond port prairie quay raft reef ridge river sail schooner shore skiff sloop spring strait summit
  tide trail valley vessel voyage wave wharf willow`)

const TAIL = '23456789abcdefghjkmnpqrstuvwxyz'

/** A host label: lower-case letters, digits and single hyphens. Two hyphens in a row part a version from its slug. */
const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** A random slug such as `amber-harbor-k7x3m2`: easy to read, about five thousand billion of them. */
export function newSlug(): string {
  const tail = Array.from({ length: 6 }, () => TAIL[randomInt(TAIL.length)]).join('')
  return `${FIRST[randomInt(FIRST.length)]}-${SECOND[randomInt(SECOND.length)]}-${tail}`
}

/** Whether a text has the form of a slug, so that it is worth a look into the store. */
export function isSlug(text: string): boolean {
  return text.length <= 35 && SLUG.test(text)
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
