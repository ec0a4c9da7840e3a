import { mutateSource } from './source-mutation.ts'

// Control: the server acknowledges blobs that it did not flush.
mutateSource('/server/blobs/disk.ts', /\bhandle\.sync\(\)/g, 'Promise.resolve()')
