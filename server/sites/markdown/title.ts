import { MAX_TITLE_LENGTH } from '../../../protocol/api/publish.ts'
import { toPlainLine } from '../../lib/plain-line.ts'

/** Longer lines are no titles. */
const HEADING = /^ {0,3}#[ \t]+(\S.{0,500})$/m

/** As text without marks; null without a heading of the first level. */
export function findTitle(source: string): string | null {
  const [, heading = ''] = HEADING.exec(source) ?? []
  const text = heading.replace(/!?\[([^\][]*)\]\([^()]*\)/g, '$1').replace(/[*_`~]|\s#+\s*$/g, '')
  return toPlainLine(text, MAX_TITLE_LENGTH) || null
}
