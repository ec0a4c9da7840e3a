import { useRef, useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { handleSubmit } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { putFiles } from './put-files.ts'

interface AddFilesProps {
  site: SiteDetails
}

/** Adds files to the live version, or replaces them. */
export function AddFiles(props: AddFilesProps) {
  const input = useRef<HTMLInputElement>(null)
  const [picked, pick] = useState<File[]>([])
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    pick([...(currentTarget.files ?? [])])
    currentTarget.value = ''
  }
  return (
    <>
      <Button icon="upload" onClick={() => input.current!.click()}>
        Add files
      </Button>
      <input ref={input} type="file" multiple hidden aria-label="Files to add" onChange={take} />
      {picked.length > 0 && <AddFilesDialog {...props} picked={picked} onClose={() => pick([])} />}
    </>
  )
}

interface AddFilesDialogProps extends AddFilesProps {
  picked: File[]
  onClose: () => void
}

/** Names shown in the dialog. */
const MAX_NAMES = 20

function AddFilesDialog({ site, picked, onClose }: AddFilesDialogProps) {
  const [folder, setFolder] = useState('')
  const parts = folder.split('/').map((part) => part.trim())
  const prefix = parts.filter((part) => part !== '').join('/')
  const put = Object.fromEntries(
    picked.map((file) => [prefix === '' ? file.name : `${prefix}/${file.name}`, file]),
  )
  const paths = Object.keys(put)
  const replaced = site.files.filter(({ path }) => path in put).length
  const count = pluralize(paths.length, 'file')
  const add = () => {
    putFiles(site, put, `Add ${paths.join(', ')}`)
    onClose()
  }
  return (
    <Dialog title={`Add ${count}?`} onClose={onClose}>
      <form class="stack" onSubmit={handleSubmit(add)}>
        <ul class="plain-list paths">
          {paths.slice(0, MAX_NAMES).map((path) => (
            <li key={path}>
              <bdi>{path}</bdi>
            </li>
          ))}
        </ul>
        {paths.length > MAX_NAMES && <p class="quiet small">{`and ${paths.length - MAX_NAMES} more`}</p>}
        <TextField
          label="Folder"
          hint="Leave blank for the top folder."
          placeholder="images"
          value={folder}
          onWrite={setFolder}
        />
        {replaced > 0 && <p>{`Replaces ${pluralize(replaced, 'existing file')}.`}</p>}
        <div class="choices">
          <Button variant="main">Publish {count}</Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  )
}
