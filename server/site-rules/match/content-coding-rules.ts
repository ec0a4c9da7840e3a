import type { ContentCoding } from '../../blobs/content-coding.ts'
import { type HeaderRule, readHeaderPatterns } from '../parse/header-rule.ts'
import { canonicalPath, encodePath, type PathPattern } from '../path-pattern.ts'

interface CompiledRule {
  rule: HeaderRule
  path: PathPattern
  coding: ContentCoding | null
}

/** The lines of `_headers` about `Content-Encoding`, which belongs to files, however they are requested. */
export class ContentCodingRules {
  readonly #rules: CompiledRule[]

  constructor(rules: readonly HeaderRule[]) {
    this.#rules = rules.flatMap((rule) => {
      const patterns = rule.coding === undefined ? '' : readHeaderPatterns(rule)
      return typeof patterns === 'string' ? [] : [{ rule, path: patterns.path, coding: rule.coding! }]
    })
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /** The coding of the last rule that matches the path of the file. */
  find(path: string): { rule: HeaderRule; coding: ContentCoding } | undefined {
    const canonical = canonicalPath(encodePath(`/${path}`))
    if (canonical === undefined) return undefined
    const last = this.#rules.findLast((rule) => rule.path.match(canonical))
    return last?.coding ? { rule: last.rule, coding: last.coding } : undefined
  }
}
