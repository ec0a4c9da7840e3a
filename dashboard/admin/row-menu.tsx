import type { ComponentType } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { IconName } from '../kit/icon.tsx'
import { Menu } from '../kit/menu.tsx'
import { useFocusAround } from '../kit/notice.tsx'

/** What an administrator can do with a row of a list: a link, or a dialog. */
export interface RowAction<Row> {
  name: string
  icon?: IconName
  danger?: true
  /** Whether the row has it; by default all rows do. */
  isOffered?: (row: Row) => boolean
  /** The target of a link. */
  href?: (row: Row) => string
  /** Whether the link opens in a new tab. */
  outside?: true
  Dialog?: ComponentType<RowDialogProps<Row>>
}

export interface RowDialogProps<Row> {
  row: Row
  /** Called after a change: the list is loaded again. */
  onChanged: () => Promise<void>
  onClose: () => void
}

interface RowMenuProps<Row> {
  row: Row
  /** What the row is about, for the name of the button. */
  name: string
  actions: readonly RowAction<Row>[]
  onChanged: () => Promise<void>
}

/** The menu of a row, and the dialog of the chosen action. */
export function RowMenu<Row>({ row, name, actions, onChanged }: RowMenuProps<Row>) {
  const menu = useRef<HTMLDivElement>(null)
  useFocusAround(menu)
  // The row as it was: the dialog stays until the list that its change leads to is loaded.
  const [chosen, choose] = useState<{ row: Row; Dialog: RowAction<Row>['Dialog'] }>()
  const items = actions
    .filter(({ isOffered = () => true }) => isOffered(row))
    .map((action) => {
      const { name, icon, danger, outside, href, Dialog } = action
      const style = { name, ...(icon && { icon }), ...(danger && { danger }), ...(outside && { outside }) }
      return href ? { ...style, href: href(row) } : { ...style, onClick: () => choose({ row, Dialog }) }
    })
  const Chosen = chosen?.Dialog
  return (
    <div ref={menu}>
      <Menu label={`Actions for ${name}`} items={items} />
      {Chosen && <Chosen row={chosen.row} onChanged={onChanged} onClose={() => choose(undefined)} />}
    </div>
  )
}
