import { Table, text } from '../table.ts'

export const jobCursorTable = new Table({ job: text, position: text })

/** The cursor that the target of a move has until all data are there: no service may start on it. */
export const UNFINISHED_MOVE = 'move'
