import { useRef } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { toDisplayError } from '../api/display-error.ts'
import { Menu, type MenuItem } from '../kit/menu.tsx'
import { showToast } from '../kit/toast.tsx'
import { isEditable } from './file-editor.tsx'
import { publishChange } from './publish-change.ts'
import { putFiles } from './put-files.ts'

interface FileMenuProps {
  site: SiteDetails
  file: FileEntry
  /** Opens the editor. */
  onEdit: () => void
  /** Called when another version is live. */
  onLive: () => void
}

/** Edits, replaces or deletes a file; each publishes a version that can be undone. */
export function FileMenu({ site, file, onEdit, onLive }: FileMenuProps) {
  const { path } = file
  const input = useRef<HTMLInputElement>(null)
  const remove = async () => {
    const change = { delete: [path], message: `Delete ${path}`, done: `${path} deleted.` }
    try {
      await publishChange(site, change, onLive)
    } catch (error) {
      showToast(toDisplayError(error).title)
    }
  }
  const replace = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const [picked] = currentTarget.files ?? []
    currentTarget.value = ''
    if (picked) putFiles(site, { [path]: picked }, `Replace ${path}`)
  }
  const items: MenuItem[] = [{ name: 'Replace file', icon: 'upload', onClick: () => input.current!.click() }]
  if (isEditable(file)) items.unshift({ name: 'Edit text', icon: 'edit', onClick: onEdit })
  if (site.files.length > 1)
    items.push({
      name: 'Delete file',
      icon: 'trash',
      danger: true,
      onClick: remove,
    })
  return (
    <span>
      <Menu label={`Actions for ${path}`} variant="link" items={items} />
      <input ref={input} type="file" hidden aria-label={`Replace ${path}`} onChange={replace} />
    </span>
  )
}
