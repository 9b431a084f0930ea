//! A run's records as Arrow tables, handed over by the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use crate::error::engine_error;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table that any Arrow library reads.
#[pyclass(frozen, module = "waspbench._core")]
pub(crate) struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// A column: its name and its values.
pub(crate) type Column = (&'static str, ArrayRef);

impl ArrowTable {
    /// A table of batches with the columns of `empty`, which has no rows.
    pub(crate) fn new(batches: impl IntoIterator<Item = Vec<Column>>, empty: Vec<Column>) -> PyResult<Self> {
        let fields = empty.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = |columns: Vec<Column>| {
            let arrays = columns.into_iter().map(|(_, array)| array).collect();
            RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(engine_error)
        };
        let batches = batches.into_iter().map(batch).collect::<PyResult<_>>()?;
        Ok(Self { schema, batches })
    }

    /// A table of one batch.
    pub(crate) fn single(columns: Vec<Column>) -> PyResult<Self> {
        let empty = columns.iter().map(|(name, array)| (*name, array.slice(0, 0))).collect();
        Self::new([columns], empty)
    }
}

#[pymethods]
impl ArrowTable {
    /// The table as an Arrow stream. The reader gets the table's own schema, whichever it asked for.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}
