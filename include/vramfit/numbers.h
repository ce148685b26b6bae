/* Made by tools/generate_contract from python/vramfit/contract: change that, not this. */
/* clang-format off */
#ifndef VRAMFIT_NUMBERS_H
#define VRAMFIT_NUMBERS_H

/* What the job is doing. */
enum vf_phase {
  VF_PHASE_LOAD = 0,
  VF_PHASE_TRAIN = 1,
  VF_PHASE_VALIDATE = 2,
  VF_PHASE_TEST = 3,
  VF_PHASE_SAVE = 4
};

/* The place inside a step: kept by the Python hooks, stamped on every event. */
enum vf_stage {
  VF_STAGE_OTHER = 0,
  VF_STAGE_FORWARD = 1,
  VF_STAGE_BACKWARD = 2,
  VF_STAGE_OPTIMIZER = 3,
  VF_STAGE_INPUT = 4  /* moving a batch to the device */
};

/* What a block of device memory holds. */
enum vf_owner {
  VF_OWNER_UNKNOWN = 0,
  VF_OWNER_WEIGHT = 1,
  VF_OWNER_GRADIENT = 2,
  VF_OWNER_OPTIMIZER = 3,
  VF_OWNER_INPUT = 4,
  VF_OWNER_ACTIVATION = 5,
  VF_OWNER_WORKSPACE = 6,
  VF_OWNER_BUFFER = 7,  /* module buffers */
  VF_OWNER_AVERAGE = 8,  /* a moving average of the weights (EMA) */
  VF_OWNER_MASTER = 9,  /* wider copies of the weights that the optimizer works on */
  VF_OWNER_QUANTIZATION = 10,  /* scales, zero points and codes of quantized weights */
  VF_OWNER_CACHE = 11,  /* keys and values that one forward hands to the next */
  VF_OWNER_OTHER_MODEL = 12  /* a model beside the one that is trained; text names it */
};

/* Levels of PyTorch's allocator that the recorder tells while a job runs. */
enum vf_memory {
  VF_MEMORY_ALLOCATED = 0,
  VF_MEMORY_PEAK_ALLOCATED = 1,
  VF_MEMORY_RESERVED = 2,
  VF_MEMORY_PEAK_RESERVED = 3
};

/* What a product is worked out in: what a card's rates go by. */
enum vf_dtype {
  VF_DTYPE_F32 = 0,
  VF_DTYPE_F64 = 1,
  VF_DTYPE_F16 = 2,
  VF_DTYPE_BF16 = 3,
  VF_DTYPE_TF32 = 4,
  VF_DTYPE_F8 = 5,
  VF_DTYPE_I8 = 6,
  VF_DTYPE_OTHER = 7
};

#endif
