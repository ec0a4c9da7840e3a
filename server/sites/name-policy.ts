import { MAX_NAME_LENGTH, MIN_NAME_LENGTH } from '../../protocol/site-name.ts'
import { isPreviewName, PREVIEW_NAME_RULE } from './preview.ts'
import { isGeneratedSlug } from './slug.ts'

/** Letters, digits and single hyphens: two hyphens separate the name of a version from that of its site. */
const NAME_PATTERN = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Names that visitors, browsers or mail servers take for parts of a service. */
const RESERVED_NAMES = `
  abuse account accounts admin administrator api app apps assets auth autoconfig autodiscover billing cdn claim
  console contact dashboard deploy dev developer dns docs domain domains download edge email error ftp health help
  helpdesk host hostmaster imap info internal invoice isatap legal localhost login logout mail mailer metrics mta-sts
  noreply ns ns1 ns2 oauth official pages password pay payment payments pop pop3 portal postmaster preview pricing
  privacy proxy public register root sales secure security server service settings signin signup site sites smtp sso
  ssl staging static status support sysadmin system terms test tls upload uploads verify webmail webmaster wpad www`
  .trim()
  .split(/\s+/)

/** A site that contains the project's name could pass for a part of the service. */
const PRODUCT_NAME = 'slipway'

/** A shorter label of the service's host would refuse too many names. */
const MIN_BRAND_LENGTH = 4

interface NamePolicyOptions {
  reservedNames: readonly string[]
  /** The address of the service and the domain of its sites. */
  hosts: readonly string[]
}

export class NamePolicy {
  readonly #reserved: ReadonlySet<string>
  readonly #brands: readonly string[]

  constructor({ reservedNames, hosts }: NamePolicyOptions) {
    const labels = hosts.flatMap((host) => host.toLowerCase().split('.'))
    const brands = hosts.flatMap((host) => host.toLowerCase().split('.').at(-2) ?? [])
    this.#reserved = new Set([...RESERVED_NAMES, ...reservedNames, ...labels].map(toSkeleton))
    this.#brands = [PRODUCT_NAME, ...brands.filter(({ length }) => length >= MIN_BRAND_LENGTH)].map(
      toSkeleton,
    )
  }

  /** Why a site cannot have this name, after "The name"; undefined when the rules allow it. */
  problem(name: string): string | undefined {
    const { length } = name
    if (length < MIN_NAME_LENGTH || length > MAX_NAME_LENGTH)
      return `must have ${MIN_NAME_LENGTH} to ${MAX_NAME_LENGTH} characters`
    if (!NAME_PATTERN.test(name))
      return 'must consist of lowercase letters, digits and single hyphens, and begin and end with a letter or digit'
    if (isGeneratedSlug(name))
      return 'must not have the form of a generated name, such as amber-harbor-k7x3m2'
    return this.#reserved.has(toSkeleton(name)) || this.#hasBrand(name) ? 'is reserved' : undefined
  }

  /** The name is followed by that of its site, so that fewer names are reserved. */
  previewProblem(name: string): string | undefined {
    if (!isPreviewName(name)) return PREVIEW_NAME_RULE
    return this.#hasBrand(name) ? 'is reserved' : undefined
  }

  #hasBrand(name: string): boolean {
    const skeleton = toSkeleton(name)
    return this.#brands.some((brand) => skeleton.includes(brand))
  }
}

/** The order matters, since a replacement may be part of a later pair. */
const CONFUSABLES: readonly [similar: RegExp, letter: string][] = [
  [/-/g, ''],
  [/0/g, 'o'],
  [/[1il]/g, 'l'],
  [/3/g, 'e'],
  [/4/g, 'a'],
  [/5/g, 's'],
  [/[69]/g, 'g'],
  [/7/g, 't'],
  [/8/g, 'b'],
  [/vv/g, 'w'],
  [/rn/g, 'm'],
  [/cl/g, 'd'],
]

/** Names that look alike have the same skeleton (as in Unicode UTS 39, for ASCII). */
function toSkeleton(name: string): string {
  return CONFUSABLES.reduce((text, [similar, letter]) => text.replace(similar, letter), name.toLowerCase())
}
