import { MAX_TITLE_LENGTH } from '../../../protocol/api/publish.ts'
import { toPlainLine } from '../../lib/plain-line.ts'

/** A heading of the first level; longer lines are no titles. */
const HEADING = /^ {0,3}#[ \t]+(\S.{0,500})$/m

/** The first heading of a Markdown document as text, without its marks; null without one. */
export function findTitle(source: string): string | null {
  const [, heading = ''] = HEADING.exec(source) ?? []
  const text = heading.replace(/!?\[([^\][]*)\]\([^()]*\)/g, '$1').replace(/[*_`~]|\s#+\s*$/g, '')
  return toPlainLine(text, MAX_TITLE_LENGTH) || null
}
